"""What carries requests: real HTTP, or a plan that only notes them."""
