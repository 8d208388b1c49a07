"""From what the user says of one scheduler to something that decides, the same way for all releases."""
