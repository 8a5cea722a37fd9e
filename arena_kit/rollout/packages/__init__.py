"""Packages: zips that describe an application, its services, data, exports and tasks."""
