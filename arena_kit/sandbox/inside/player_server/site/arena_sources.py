"""Makes Python load a submission's modules from their sources, which pages show, never from compiled files."""

import importlib.machinery
import os
import sys
import types


class SourceLoader(importlib.machinery.SourceFileLoader):
    """Compiles a module's source whenever it is loaded, and ignores `__pycache__`."""

    def get_code(self, fullname: str) -> types.CodeType:
        path = self.get_filename(fullname)
        code: types.CodeType = self.source_to_code(self.get_data(path), path)
        return code


def only_sources(*folders: str) -> None:
    """Import only sources and extension modules from these folders; imports from other folders stay as they are."""
    roots = tuple(os.path.realpath(folder) for folder in folders if folder)
    find = importlib.machinery.FileFinder.path_hook(
        (importlib.machinery.ExtensionFileLoader, importlib.machinery.EXTENSION_SUFFIXES),
        (SourceLoader, importlib.machinery.SOURCE_SUFFIXES),
    )

    def hook(path: str) -> object:
        real = os.path.realpath(path or os.curdir)
        if not any(real == root or real.startswith(root + os.sep) for root in roots):
            raise ImportError(f"{path} does not belong to the submission")
        return find(path)

    sys.path_hooks.insert(0, hook)  # type: ignore[arg-type]  # a finder is what the stubs' protocol says
    sys.path_importer_cache.clear()
