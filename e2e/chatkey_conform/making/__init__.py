"""What honest browsers and backends make, by other code than any service's own, and the same with one fault."""
