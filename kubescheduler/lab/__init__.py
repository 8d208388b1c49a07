"""The lab: exercises that check themselves. Nothing here decides; engines are asked by ``import kubescheduler``."""
