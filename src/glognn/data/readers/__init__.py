"""One file per published format: from verified files to arrays. What is done to the graph later is no reader's work."""
