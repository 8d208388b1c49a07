"""Users' own rules in files: loaded anew when the files change, with the place of every fault."""
