"""Drives of users: their measurements, and what a fit makes of them (ADR 0020)."""
