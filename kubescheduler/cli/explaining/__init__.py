"""Why a decision came out as it did, as text: all nodes in tables, or some in full; and the pages of rules."""
