"""What the site is made of beside the pages in docs/: pages and tables that follow from the code and from records."""
