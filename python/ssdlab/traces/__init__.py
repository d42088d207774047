"""Traces: reading, converting and generating them, and their statistics."""
