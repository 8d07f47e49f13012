"""What of a user's tables lies in a run folder: the graph, what the tables were, the ids of its nodes."""

from pathlib import Path

SHARDS = "shards.json"
"""Of a folder that holds a graph in parts (:mod:`glognn.distributed.shards`)."""
GRAPH, TABLES, NODES = "graph.npz", "tables.json", "nodes.parquet"


def tables_folder(graph: Path) -> Path | None:
    """Where is kept what a graph's tables were: beside its file, unless that has another name, or with its parts."""
    folder = graph if (graph / SHARDS).is_file() else graph.parent
    kept = graph.name == GRAPH or folder is graph
    return folder if kept and (folder / TABLES).is_file() else None


ENCODED = "features_encoded"
"""What a graph file with features of tables says of them, see :mod:`glognn.data.npz`."""
