"""The plugins that come with the scheduler, one family a file."""
