"""The only modules that know the operating system.

People write agents on Windows, macOS and Linux, so what their commands import uses these functions and nothing that
only some systems have. The sandboxes of servers, worlds and images need Linux and use it directly.
"""
