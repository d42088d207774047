"""How numbers and progress are shown to people."""
