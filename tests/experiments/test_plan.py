"""Plans: what is run where, and that nothing done is done again."""

from __future__ import annotations

import json
import os
import random
import time
from pathlib import Path

import pytest

from glognn.errors import InputError, WriteError
from glognn.experiments import plan as plan_module
from glognn.experiments import run as run_module
from glognn.experiments.batches import make_batches
from glognn.experiments.config import find_settings, resolve
from glognn.experiments.folder import read_report
from glognn.experiments.jobs import run_jobs
from glognn.experiments.plan import Job, make_plan, parse_names, parse_seeds, settings_hash
from glognn.experiments.studies import ablation_plan, same_as_full
from glognn.graph.config import GraphConfig
from glognn.models.configs import MODELS
from glognn.settings import real, switch
from glognn.storage import write_text
from tests.program import Program, run

QUICK = {"epochs": 3, "threads": 1, "device": "cpu", "hidden_channels": 8}


def test_published_settings_where_there_are_some(tmp_path: Path) -> None:
    jobs = make_plan(tmp_path, ["texas", "cora"], ["glognn", "mlp"], splits="0-2")
    assert len(jobs) == 2 * 2 * 3
    texas = next(job for job in jobs if (job.dataset, job.model) == ("texas", "glognn"))
    assert (texas.seed, texas.config.model.beta1) == (42, 10.0)
    assert next(job for job in jobs if job.model == "mlp").seed == 0
    assert texas.folder.relative_to(tmp_path).parts[0] == "texas"
    assert texas.folder.name == "split-0"
    default = make_plan(tmp_path, ["texas"], ["glognn"], settings="default", splits="0")
    assert default[0].config.model.beta1 != 10.0


def test_tuned_settings_and_variants(tmp_path: Path) -> None:
    plan = make_plan(
        tmp_path, ["texas", "penn94"], ["glognn++", "glognn++-exact", "glognn++-released", "gcn"],
        settings="tuned", splits="0",
    )  # fmt: skip
    jobs = {(job.dataset, job.label): job for job in plan}
    exact, released = jobs["texas", "glognn++-exact"], jobs["texas", "glognn++-released"]
    assert (exact.config.model.coefficient, released.config.model.coefficient) == ("exact", "released")
    assert exact.origin == released.origin == jobs["texas", "gcn"].origin == "searched"
    validation = {
        label: find_settings("tuned", label, "texas")[0]["tuned"]["validation"]
        for label in ("glognn++-exact", "glognn++-released")
    }
    best = jobs[("texas", max(validation, key=lambda label: validation[label]))]
    assert jobs["texas", "glognn++"].folder == best.folder  # the same runs, done once
    assert (jobs["penn94", "glognn++"].origin, jobs["penn94", "gcn"].origin) == ("published", "default")
    published = make_plan(tmp_path, ["texas"], ["glognn++", "glognn++-exact"], splits="0")
    assert [job.config.model.coefficient for job in published] == ["released", "exact"]


FROZEN = json.loads(Path(__file__).with_name("frozen_hashes.json").read_text())
"""The hashes in the names of finished runs, by origin and model or variant, and dataset. They never change."""


@pytest.mark.parametrize("which", FROZEN)
def test_finished_runs_keep_their_names(which: str) -> None:
    origin, _, label = which.partition(" ")
    found = {}
    for dataset in FROZEN[which]:
        tables = None if origin == "default" else find_settings(origin, label, dataset)[0]
        [config] = resolve([label] if tables is None else [], tables, {}, dataset, None)
        found[dataset] = settings_hash(config.tables())
    assert found == FROZEN[which], "a setting that came later must declare 'before' (glognn/settings.py)"


def test_added_settings_of_graph_and_model_leave_finished_runs_their_names(monkeypatch: pytest.MonkeyPatch) -> None:
    class Graph(GraphConfig):
        mirrored: bool = switch(False, "Made up.", before=False)

    class Model(MODELS["mlp"]):  # type: ignore[misc]
        title = "MLP"
        slope: float = real(0.5, "Made up; without it the slope was 0.", before=0.0)

    [config] = resolve(["mlp"], None, {}, "texas", None)
    known = settings_hash(config.tables())
    monkeypatch.setattr(plan_module, "GraphConfig", Graph)
    monkeypatch.setitem(MODELS, "mlp", Model)

    def name(mirrored: bool, slope: float) -> str:
        tables = config.tables()
        tables["data"] |= Graph(**config.graph.as_dict(), mirrored=mirrored).as_dict()
        tables["model"] |= Model(**config.model.as_dict(), slope=slope).as_dict()
        return settings_hash(tables)

    assert name(False, 0.0) == known == FROZEN["default mlp"]["texas"]
    assert len({known, name(True, 0.0), name(False, 0.5), name(True, 0.5)}) == 4


def test_batches(tmp_path: Path) -> None:
    plan = make_plan(tmp_path, ["texas", "cora"], ["mlp"], splits="0-3", seeds=[0, 1], given=QUICK)
    assert [len(batch.jobs) for batch in make_batches(plan)] == [8, 8]
    assert [len(batch.jobs) for batch in make_batches(plan, workers=4)] == [4, 4, 4, 4]
    for job in plan[:3]:
        write_text(job.folder / "DONE", "")
    [first, second] = make_batches(plan)
    assert [len(first.jobs), len(second.jobs)] == [5, 8]
    # An interrupted batch goes on with all its members, also with those that have ended since its checkpoint.
    second.begin()
    write_text(second.checkpoint, "")
    write_text(second.jobs[0].folder / "DONE", "")
    assert make_batches(plan, workers=4)[-1].names == second.names
    assert second.pending() == second
    second.end()
    assert [len(batch.jobs) for batch in make_batches(plan)] == [5, 7]
    pending = second.pending()
    assert pending is not None
    assert len(pending.jobs) == 7


def test_runs_of_a_batch_and_runs_alone_leave_the_same_folders(tmp_path: Path) -> None:
    given = QUICK | {"dropout": 0.0}
    for name, together in (("batch", True), ("alone", False)):
        plan = make_plan(tmp_path / name, ["pairs"], ["glognn", "mlp"], splits="0-1", given=given)
        outcomes = list(run_jobs(plan, together=together))
        assert [outcome.error for outcome in outcomes] == [""] * 4
        assert all(job.done for job in plan)
        assert not list((tmp_path / name).rglob(".*unfinished"))
        assert not list((tmp_path / name).rglob("together/*"))
    for job in plan:
        other = tmp_path / "batch" / job.folder.relative_to(tmp_path / "alone")
        ours, theirs = read_report(other), read_report(job.folder)
        assert (ours["trained_together"], theirs["trained_together"]) == (2, 1)
        assert ours["scores"]["last"]["test"] == theirs["scores"]["last"]["test"]
        assert ours["scores"]["last"]["val_loss"] == pytest.approx(theirs["scores"]["last"]["val_loss"], rel=1e-4)
        assert sorted(ours) == sorted(theirs)
        names = sorted(path.name for path in job.folder.iterdir() if path.name != ".lock")
        assert names == sorted(path.name for path in other.iterdir() if path.name != ".lock")


def test_a_folder_is_named_by_what_decides_the_outcome(tmp_path: Path) -> None:
    def folder(**given: object) -> Path:
        return make_plan(tmp_path, ["texas"], ["mlp"], splits="0", given=given)[0].folder

    assert folder() == folder(threads=1, device="cpu", checkpoint_interval=1.0)
    assert len({folder(), folder(epochs=7), folder(dropout=0.1), folder(self_loops="remove")}) == 4
    first, second = make_plan(tmp_path, ["texas"], ["mlp"], splits="0", seeds=[0, 1])
    assert first.folder.parent.parent == second.folder.parent.parent
    assert first.folder != second.folder


def test_names_and_seeds() -> None:
    assert parse_names("a, b", ["a", "b", "c"], "thing") == ["a", "b"]
    with pytest.raises(InputError, match="There is no dataset 'texs'. Did you mean 'texas'"):
        parse_names("texs", ["texas"], "dataset")
    with pytest.raises(InputError, match="Name each thing once"):
        parse_names("a,a", ["a"], "thing")
    assert parse_seeds("0-2") == [0, 1, 2]
    with pytest.raises(InputError, match="seeds must be numbers"):
        parse_seeds("x")
    with pytest.raises(InputError, match="settings must be one of"):
        make_plan(Path(), ["texas"], ["mlp"], settings="best")
    with pytest.raises(InputError, match=r"The split must be in the range \[0, 9\]"):
        make_plan(Path(), ["texas"], ["mlp"], splits="10")


def test_runs_that_are_done_are_not_done_again(tmp_path: Path) -> None:
    jobs = make_plan(tmp_path, ["pairs"], ["mlp", "gcn"], splits="0-1", given=QUICK)
    assert [outcome.error for outcome in run_jobs(jobs)] == [""] * 4
    assert all(job.done for job in jobs)
    assert list(run_jobs(jobs)) == []
    more = make_plan(tmp_path, ["pairs"], ["mlp", "gcn"], splits="0-2", given=QUICK)
    assert [(o.job.model, o.job.split) for o in run_jobs(more)] == [("mlp", 2), ("gcn", 2)]


def test_a_run_that_fails_does_not_stop_the_others(tmp_path: Path) -> None:
    jobs = make_plan(tmp_path, ["pairs"], ["mlp"], splits="0-1", given=QUICK | {"learning_rate": 1e30})
    jobs += make_plan(tmp_path, ["pairs"], ["gcn"], splits="0", given=QUICK)
    outcomes = list(run_jobs(jobs))
    assert [bool(outcome.error) for outcome in outcomes] == [True, True, False]
    assert "lower the learning rate" in outcomes[0].error


def test_a_full_disk_is_no_fault_of_a_run_and_stops_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise WriteError("'model.safetensors' cannot be written: No space left on device.")

    jobs = make_plan(tmp_path, ["pairs"], ["mlp", "gcn"], splits="0", given=QUICK)
    with monkeypatch.context() as patch:
        patch.setattr(run_module, "run_batch", full)
        with pytest.raises(WriteError, match="No space left on device"):
            list(run_jobs(jobs))
    assert [outcome.error for outcome in run_jobs(jobs)] == ["", ""]


def test_ablations(tmp_path: Path) -> None:
    jobs, problems = ablation_plan(tmp_path, ["texas", "cornell"], ["glognn"], splits="0", given={})
    assert list(jobs)[:4] == [("texas", f"glognn{suffix}") for suffix in ("", "-na", "-nf", "-nl")]
    [nf] = jobs["texas", "glognn-nf"]
    assert nf.config.model.alpha == 1.0
    assert jobs["texas", "glognn-nl"][0].config.model.beta2 == 0.0
    assert jobs["texas", "glognn-na"][0].folder == jobs["texas", "glognn"][0].folder  # alpha is 0 already
    assert same_as_full("texas", "glognn") == ["-na"]
    assert problems == {("cornell", "glognn-nl"): "undefined: beta1 = 0"}


SCRIPT = """
import sys
from pathlib import Path
from glognn.experiments.plan import make_plan
from glognn.experiments.jobs import run_jobs
if __name__ == "__main__":
    given = {"epochs": 60, "threads": 1, "device": "cpu", "hidden_channels": 8, "checkpoint_interval": 0.0}
    jobs = make_plan(Path(sys.argv[1]), ["pairs"], ["mlp", "gcn", "glognn"], splits="0-2", given=given)
    for outcome in run_jobs(jobs, workers=2):
        assert not outcome.error, outcome.error
"""


def plan_of_script(root: Path) -> list[Job]:
    given = {"epochs": 60, "threads": 1, "device": "cpu", "hidden_channels": 8, "checkpoint_interval": 0.0}
    return make_plan(root, ["pairs"], ["mlp", "gcn", "glognn"], splits="0-2", given=given)


def results(root: Path) -> dict[str, object]:
    return {str(job.folder.relative_to(root)): read_report(job.folder)["scores"] for job in plan_of_script(root)}


def test_killed_reproductions_end_with_the_same_table(tmp_path: Path, figures: dict[str, str]) -> None:
    """SIGKILL of the parent, two workers, again and again. ``GLOGNN_KILLS`` sets how often."""
    kills = min(int(os.environ.get("GLOGNN_KILLS", "1")), 10)
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    run(str(whole), program=SCRIPT)
    generator, finished = random.Random(0), {}
    for _ in range(kills):
        target = generator.randint(1, len(plan_of_script(killed)) - 1)
        process = Program(SCRIPT, str(killed))
        while sum(job.done for job in plan_of_script(killed)) < target and process.poll() is None:
            time.sleep(0.01)
        process.kill()
        for job in plan_of_script(killed):
            if job.done:
                stamp = json.loads((job.folder / "report.json").read_text())["finished"], job.folder.stat().st_ino
                assert finished.setdefault(job.folder, stamp) == stamp, "a finished run was repeated"
    run(str(killed), program=SCRIPT)
    for folder, (stamp, _) in finished.items():
        assert json.loads((folder / "report.json").read_text())["finished"] == stamp
    assert results(killed) == results(whole)
    figures["reproductions killed and restarted to the same scores"] = str(kills)
