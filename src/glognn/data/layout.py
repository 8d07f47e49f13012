"""What of a user's tables lies in a run folder: the graph, what the tables were, the ids of its nodes."""

SHARDS = "shards.json"
"""Of a folder that holds a graph in parts (:mod:`glognn.distributed.shards`)."""
GRAPH, TABLES, NODES = "graph.npz", "tables.json", "nodes.parquet"

ENCODED = "features_encoded"
"""What a graph file with features of tables says of them, see :mod:`glognn.data.npz`."""
