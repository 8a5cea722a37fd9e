"""Makes Python load a submission's modules from their sources, which pages show, never from compiled files."""

from __future__ import annotations

import importlib.machinery
import os
import sys
import types
import zipimport


class SourceLoader(importlib.machinery.SourceFileLoader):
    """Compiles a module's source whenever it is loaded, and ignores `__pycache__`."""

    def get_code(self, fullname: str) -> types.CodeType:
        path = self.get_filename(fullname)
        code: types.CodeType = self.source_to_code(self.get_data(path), path)
        return code


def names_of(archive: str) -> frozenset[str]:
    """Return the names of the files in a zip archive. Raises ImportError for any other file."""
    import zipfile  # few players have archives, and every player starts this file

    try:
        with zipfile.ZipFile(archive) as found:
            return frozenset(found.namelist())
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError, OverflowError) as error:
        raise ImportError(f"{archive} is not an archive that can be read") from error


class ArchiveLoader(SourceLoader):
    """Loads a module from its source in a zip archive. archive: its path. prefix: of the folder within, or empty."""

    def __init__(self, fullname: str, path: str, archive: str, prefix: str) -> None:
        super().__init__(fullname, path)
        self.archive, self.prefix = archive, prefix

    def get_data(self, path: str) -> bytes:
        """Return the content of a file; those of the archive are named like files in a folder of its name."""
        import zipfile  # as above

        inner = os.path.relpath(path, self.archive)
        try:
            with zipfile.ZipFile(self.archive) as archive:
                return archive.read(inner)
        except KeyError:
            raise FileNotFoundError(f"{path} does not exist") from None

    def get_resource_reader(self, name: str) -> object:  # type: ignore[override]  # the stubs know files only
        try:
            from importlib.readers import ZipReader  # as above
        except ImportError:
            # Before Python 3.10; what asks reads resources by get_data then.
            return None
        return ZipReader(self, name)  # type: ignore[arg-type]  # it needs the two attributes alone


class ArchiveFinder:
    """Finds the sources in a zip archive, or in a folder within it; compiled files there are never loaded.

    Raises ImportError for a file that is not an archive, e.g. for a script that Python is about to run.
    """

    is_reading = False
    """Whether an archive is being read: what that imports must not be looked for in the archive."""

    def __init__(self, path: str) -> None:
        if ArchiveFinder.is_reading:
            raise ImportError(f"{path} is being read")
        archive, inner = path, ""
        while not os.path.exists(archive) and archive != os.path.dirname(archive):
            archive, last = os.path.split(archive)
            inner = f"{last}/{inner}"
        self.archive, self.prefix = archive, inner
        ArchiveFinder.is_reading = True
        try:
            self.names = names_of(archive)
        finally:
            ArchiveFinder.is_reading = False

    def find_spec(self, fullname: str, target: object = None) -> importlib.machinery.ModuleSpec | None:
        """Return the spec of a module whose source is in the archive, or of a namespace package; otherwise None."""
        base = self.prefix + fullname.rpartition(".")[2]
        folder = f"{self.archive}/{base}"
        for name, is_package in ((f"{base}/__init__.py", True), (f"{base}.py", False)):
            if name in self.names:
                path = f"{self.archive}/{name}"
                loader = ArchiveLoader(fullname, path, self.archive, self.prefix)
                spec = importlib.machinery.ModuleSpec(fullname, loader, origin=path, is_package=is_package)
                spec.has_location = True
                if is_package:
                    spec.submodule_search_locations = [folder]
                return spec
        if any(name.startswith(f"{base}/") for name in self.names):
            spec = importlib.machinery.ModuleSpec(fullname, None, is_package=True)
            spec.submodule_search_locations = [folder]
            return spec
        return None


def only_sources(*folders: str) -> None:
    """Import only sources and extension modules from these folders; imports from other folders stay as they are.

    Archives in these folders are read by `ArchiveFinder`, because Python's own importer prefers compiled files.
    """
    roots = tuple(os.path.realpath(folder) for folder in folders if folder)
    find = importlib.machinery.FileFinder.path_hook(
        (importlib.machinery.ExtensionFileLoader, importlib.machinery.EXTENSION_SUFFIXES),
        (SourceLoader, importlib.machinery.SOURCE_SUFFIXES),
    )

    def is_inside(path: str) -> bool:
        real = os.path.realpath(path or os.curdir)
        return any(real == root or real.startswith(root + os.sep) for root in roots)

    def hook(path: str) -> object:
        if not is_inside(path):
            raise ImportError(f"{path} does not belong to the submission")
        real = os.path.realpath(path or os.curdir)
        return find(path) if os.path.isdir(real) else ArchiveFinder(real)

    def outside(path: str) -> zipimport.zipimporter:
        if is_inside(path):
            raise ImportError(f"{path} belongs to the submission")
        return zipimport.zipimporter(path)

    sys.path_hooks[:] = [outside if one is zipimport.zipimporter else one for one in sys.path_hooks]
    sys.path_hooks.insert(0, hook)  # type: ignore[arg-type]  # a finder is what the stubs' protocol says
    sys.path_importer_cache.clear()
