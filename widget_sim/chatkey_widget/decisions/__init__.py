"""What the machine decides, by subject: each module takes one group of events, and has the parts do what follows."""
