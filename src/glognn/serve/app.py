"""The service itself: its addresses, what they take and what they answer, with an OpenAPI document.

==================  ==================================================================================
GET /               a page to read and to try, which needs nothing from elsewhere
GET /openapi.json   the OpenAPI document
GET /health         whether it answers
GET /model          what it answers for: classes, columns, scores, limits
GET /predict        ?id=...&id=...: nodes of the graph of training
POST /predict       the same for many: {"ids": [...]}
POST /predict/new   nodes that were not in it: {"nodes": [...], "edges": [...]}
==================  ==================================================================================

What is wrong is answered with one line, {"error": ...}.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import Annotated, Any, Literal

from fastapi import FastAPI, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse
from pydantic import BaseModel, ConfigDict, Field, StrictInt, StrictStr
from starlette.exceptions import HTTPException

import glognn
from glognn.errors import InputError
from glognn.serve.description import describe, edge_schema, new_nodes_example, node_schema
from glognn.serve.guard import RefusedError
from glognn.serve.limits import Limits
from glognn.serve.page import PAGE, POLICY
from glognn.serve.scorer import Scorer, UnknownIdError

Id = StrictStr | StrictInt
_SHOWN = 60


class Known(BaseModel):
    """Nodes of the graph of training."""

    model_config = ConfigDict(extra="forbid")
    ids: list[Id] = Field(min_length=1, description="Their ids, as text or whole numbers.")


class NewNodes(BaseModel):
    """Nodes that were not in the graph of training, with edges to it and to each other."""

    model_config = ConfigDict(extra="forbid")
    nodes: list[dict[str, Any]] = Field(min_length=1, description="A row for each, by the columns of training.")
    edges: list[dict[str, Any]] = Field(default=[], description="A row for each, by the columns of training.")
    unknown_edges: Literal["error", "drop"] = Field(
        default="error", description="What to do with edges to ids that are neither in the graph nor posted."
    )


class Prediction(BaseModel):
    """What the model says of a node."""

    id: str = Field(description="The text of its id.")
    prediction: str | int | float | bool = Field(description="Its class.")
    probabilities: dict[str, float] = Field(description="Of each class; a float32 is its shortest number.")
    margin: float = Field(description="Between the two largest probabilities: small ones are close calls.")


class Predictions(BaseModel):
    """Predictions, in the order of the request."""

    predictions: list[Prediction]
    notes: list[str] = Field(default=[], description="What was left out on the way.")


class Health(BaseModel):
    """Whether the service answers."""

    status: Literal["ok"] = "ok"
    version: str
    nodes: int = Field(description="Of the graph of training.")


class Error(BaseModel):
    """What is wrong, in one line."""

    error: str


_ERRORS: dict[int | str, dict[str, Any]] = {
    code: {"model": Error, "description": why}
    for code, why in {
        400: "No JSON.",
        404: "An id that the graph of training does not have.",
        408: "The body took too long.",
        413: "Too many bytes or nodes.",
        415: "Another Content-Type than application/json.",
        421: "Another name of the service than its own.",
        422: "A wrong column or value.",
        503: "Too many requests under way.",
        504: "The answer took too long.",
    }.items()
}


def make_app(scorer: Scorer, limits: Limits) -> FastAPI:
    """The service of a warm model, without its guard."""
    app = FastAPI(
        title="glognn",
        version=glognn.__version__,
        description=f"Predictions of {describe(scorer, limits)['model']}.",
        docs_url=None,
        redoc_url=None,
    )
    threads = ThreadPoolExecutor(max_workers=1, thread_name_prefix="glognn-serve")
    taken: list[None] = []

    def check_count(count: int) -> None:
        if count > limits.nodes:
            raise RefusedError(413, f"A request must ask for at most {limits.nodes:,} nodes. Got {count:,}.")

    @app.get("/", include_in_schema=False)
    async def page() -> HTMLResponse:
        return HTMLResponse(PAGE, headers={"Content-Security-Policy": POLICY})

    @app.get("/health", summary="Does it answer?")
    async def health() -> Health:
        return Health(version=glognn.__version__, nodes=len(scorer.places))

    @app.get("/model", summary="What does it answer for?")
    async def model() -> dict[str, Any]:
        return describe(scorer, limits)

    @app.get("/predict", summary="Nodes of the graph, by id", response_model=Predictions, responses=_ERRORS)
    async def predict_some(
        id: Annotated[list[str], Query(min_length=1, description="An id; it may be there several times.")],
    ) -> JSONResponse:
        check_count(len(id))
        return JSONResponse(scorer.by_ids(id))

    @app.post("/predict", summary="Nodes of the graph, by many ids", response_model=Predictions, responses=_ERRORS)
    async def predict_known(known: Known) -> JSONResponse:
        check_count(len(known.ids))
        return JSONResponse(scorer.by_ids(known.ids))

    @app.post("/predict/new", summary="New nodes with edges", response_model=Predictions, responses=_ERRORS)
    async def predict_new(new: NewNodes) -> JSONResponse:
        check_count(len(new.nodes))
        if len(taken) >= limits.requests:  # those whose client has gone compute on
            raise RefusedError(503, f"There are {limits.requests:,} requests under way already: try again later.")
        loop = asyncio.get_running_loop()
        taken.append(None)
        asked = threads.submit(scorer.by_rows, new.nodes, new.edges, new.unknown_edges)
        asked.add_done_callback(lambda _: loop.call_soon_threadsafe(taken.pop))
        return JSONResponse(await asyncio.wrap_future(asked))

    _answer_errors(app)
    _complete_schema(app, scorer)
    return app


def _answer_errors(app: FastAPI) -> None:
    @app.exception_handler(RefusedError)
    async def refused(_: Request, error: RefusedError) -> JSONResponse:
        return JSONResponse({"error": str(error)}, error.status, {"Retry-After": "1"} if error.status == 503 else None)

    @app.exception_handler(InputError)
    async def wrong(_: Request, error: InputError) -> JSONResponse:
        return JSONResponse({"error": str(error)}, 404 if isinstance(error, UnknownIdError) else 422)

    @app.exception_handler(HTTPException)
    async def http(request: Request, error: HTTPException) -> JSONResponse:
        text = f"{error.detail}: {request.method} {request.url.path[:_SHOWN]}. The page / lists what there is."
        return JSONResponse({"error": text}, error.status_code, error.headers)

    @app.exception_handler(RequestValidationError)
    async def invalid(_: Request, error: RequestValidationError) -> JSONResponse:
        first = error.errors()[0]
        if first["type"] == "json_invalid":
            return JSONResponse({"error": f"The body must be JSON: {first['ctx']['error']}."}, 400)
        place = ".".join(map(str, first["loc"][1:])) or "The body"
        text = f"{place:.{_SHOWN}}: {first['msg']}. Got {first.get('input')!r:.{_SHOWN}}."
        return JSONResponse({"error": " ".join(text.split())}, 422)


def _complete_schema(app: FastAPI, scorer: Scorer) -> None:
    """Name the columns of this model in the OpenAPI document, with an example that can be sent."""
    schema = app.openapi()
    parts = schema["components"]["schemas"]
    new = parts["NewNodes"]
    new["properties"]["nodes"]["items"] = node_schema(scorer)
    new["properties"]["edges"]["items"] = edge_schema(scorer)
    new["example"] = new_nodes_example(scorer)
    first = next(iter(scorer.places))
    parts["Known"]["example"] = {"ids": [first]}
    for name in ("HTTPValidationError", "ValidationError"):
        parts.pop(name, None)
    app.openapi_schema = schema
