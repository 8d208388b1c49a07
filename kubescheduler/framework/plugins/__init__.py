"""The plugins that come with the scheduler, one a file."""
