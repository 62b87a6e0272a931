"""The test harness: a stack of real servers, real browsers, and scenarios that drive them."""
