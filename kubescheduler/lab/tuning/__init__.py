"""A scheduler's configuration as forms: what can be changed, the text it is written in, and what weights decide."""
