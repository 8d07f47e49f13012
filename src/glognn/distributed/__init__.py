"""One graph on several processes: who owns which nodes, what they tell each other, and products across them."""
