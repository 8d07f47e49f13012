"""What of a user's tables lies in a run folder: the graph, what the tables were, the ids of its nodes."""

from pathlib import Path

SHARDS = "shards.json"
"""Of a folder that holds a graph in parts (:mod:`glognn.distributed.shards`)."""
GRAPH, TABLES, NODES = "graph.npz", "tables.json", "nodes.parquet"


def is_of_tables(graph: Path) -> bool:
    """Whether a graph file was made of the tables that are kept beside it, as one by another name is not."""
    return graph.name == GRAPH and (graph.parent / TABLES).is_file()


ENCODED = "features_encoded"
"""What a graph file with features of tables says of them, see :mod:`glognn.data.npz`."""
