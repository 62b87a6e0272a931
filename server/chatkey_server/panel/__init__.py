"""What agents and administrators of a business see."""
