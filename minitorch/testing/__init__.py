"""Helpers for tests of programs that use minitorch, and of minitorch itself."""
