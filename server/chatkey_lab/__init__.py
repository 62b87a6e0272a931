"""The test controls ("labs") that all servers share: who may use a lab, and which faults a lab can inject."""
