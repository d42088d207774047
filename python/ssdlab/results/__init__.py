"""What runs and comparisons leave behind: reports, their statistics, the folders they are in."""
