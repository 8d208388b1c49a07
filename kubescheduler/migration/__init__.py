"""From policies to profiles: translation, and two configurations compared with every difference explained."""
