"""Between Arrow and Python elements, and what is stored of states."""
