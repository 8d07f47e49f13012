"""Files that are damaged by chance: each is read, or refused in one line, whatever is in it."""
