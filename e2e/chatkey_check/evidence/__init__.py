"""What a report may show of a call: finds leaked secrets, masks them, and writes curl lines without them."""
