"""Families of tasks, one folder each: what is learned from, by what, and how it is measured."""
