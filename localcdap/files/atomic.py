"""Atomic replacement of files: a reader finds its old content or the new one, also after a crash."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Final, Self

_MOST_NAME: Final = 50
"""Characters of the old name in the name of the new file, since file systems limit a name to 255 bytes."""
_CANNOT_SYNC: Final = (errno.EACCES, errno.EINVAL, errno.ENOTSUP)
"""Errors of folders that cannot be synchronized: without permission to list them, or on network drives."""


class ReadOnlyFileError(PermissionError):
    """A file, or the folder that it is in, is marked read-only; ``filename`` says which of them."""


class FileReplacement:
    """A new file, which takes the place of another one when it is complete.

    The block of ``with`` fills :attr:`new_file`. At the end of the block the new file gets the owner, where
    the process may give it, and the mode of the old one, and its name. A symbolic link stays and its file is
    replaced. After an exception the old file is as it was, and the new one is gone.

    Until it is complete, the new file has no name where Linux and the file system can do that
    (``O_TMPFILE``): a process that is killed leaves nothing. Elsewhere it is hidden beside the old one, and
    stays there when the process is killed.

    :param path: of the file, which need not exist; its folder must. A device or a pipe, such as
        ``/dev/stdout``, has no content to keep: there :attr:`new_file` is the path itself.
    :param has_name: whether the new file is hidden beside the old one in any case: another process fills it,
        or a library that writes beside it, or makes it again.
    :param mode: the permission bits of the file, whatever the umask and the old ones are; None keeps those
        of the old file, and gives a file that did not exist what the umask leaves.
    :param is_synced: whether the content is on the disk before the file gets its name, and the name before
        :meth:`finish` returns. Without it, a power failure may lose the content of both files.
    :raises ReadOnlyFileError: when no bit of the file's or the folder's mode permits writing. A rename would
        ignore the mark of the file, and root that of the folder.
    :raises OSError: when the file cannot be written, or is a folder.
    """

    def __init__(
        self,
        path: Path,
        *,
        mode: int | None = None,
        is_synced: bool = True,
        has_name: bool = False,
    ) -> None:
        self._mode = mode
        self._is_synced = is_synced
        self._is_discarded = False
        old = _find_status(path)
        self._is_stream: Final = old is not None and not stat.S_ISREG(old.st_mode)
        self._target = Path(os.path.realpath(path))
        if old is not None and stat.S_ISDIR(old.st_mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        name = f".{self._target.name[:_MOST_NAME]}.{os.urandom(4).hex()}.part"
        self._hidden: Final = self._target.with_name(name)
        self._unnamed: io.FileIO | None = None
        """Keeps a file without a name; None when it has one."""
        self.new_file: Path = path if self._is_stream else self._hidden
        if self._is_stream:
            return
        _require_writable(self._target)
        # Until it is complete, nobody may read it who must not read the old one.
        first_mode = 0o666 if old is None and mode is None else 0o600
        if has_name or not self._create_unnamed(first_mode):
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
            os.close(os.open(self._hidden, flags, first_mode))

    @property
    def left_when_killed(self) -> Path | None:
        """The hidden file that stays when this process is killed; None when none does."""
        return None if self._is_stream or self._unnamed is not None else self._hidden

    def _create_unnamed(self, mode: int) -> bool:
        flags = getattr(os, "O_TMPFILE", 0)
        if not flags:
            return False
        try:
            descriptor = os.open(self._target.parent, flags | os.O_WRONLY | os.O_CLOEXEC, mode)
        except OSError:  # the file system cannot do it, or the other way says why
            return False
        self._unnamed = io.FileIO(descriptor, "w")
        place = Path(f"/proc/self/fd/{descriptor}")
        if not place.exists():
            self._release()
            return False
        self.new_file = place
        return True

    def finish(self) -> None:
        """Give the new file its name. After an error the old file is as it was, and the new one is removed.

        :raises OSError: when that fails. After the rename it is an error of the disk, and the file is new.
        """
        if self._is_stream:
            return
        try:
            self._set_permissions()
            if self._is_synced:
                sync_to_disk(self.new_file)
            if self._unnamed is not None:
                _name_file(self.new_file, self._hidden)
            os.replace(self._hidden, self._target)  # noqa: PTH105
        except BaseException:
            self.discard()
            raise
        self._release()
        if self._is_synced:
            _sync_folder(self._target.parent)

    def discard(self) -> None:
        """Remove the new file. The end of the block then leaves the old file as it was."""
        self._is_discarded = True
        if not self._is_stream:
            self._release()
            with contextlib.suppress(OSError):
                self._hidden.unlink()

    def _release(self) -> None:
        """Close a file without a name: it is gone unless it has got one."""
        unnamed, self._unnamed = self._unnamed, None
        if unnamed is not None:
            unnamed.close()

    def _set_permissions(self) -> None:
        old, mode = _find_status(self._target), self._mode
        if old is not None:
            mode = old.st_mode & 0o777 if mode is None else mode
            for user, group in ((old.st_uid, -1), (-1, old.st_gid)):
                with contextlib.suppress(OSError):
                    os.chown(self.new_file, user, group)
            if self.new_file.stat().st_gid != old.st_gid:
                # What the old group may do is not for another group.
                mode = mode & ~0o070 | (mode & 0o007) << 3
        if mode is not None:
            self.new_file.chmod(mode)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is not None:
            self.discard()
        elif not self._is_discarded:
            self.finish()


@contextlib.contextmanager
def replace_file(path: Path) -> Iterator[Path]:
    """Yield a new file that replaces one of the user at the end of the block, see :class:`FileReplacement`.

    :raises BadRequestError: when the file cannot be written, or is marked read-only, or its folder is.
    """
    from localcdap.api.errors import BadRequestError  # processes of Spark start without it

    try:
        with FileReplacement(path) as replacement:
            yield replacement.new_file
    except ReadOnlyFileError as error:
        raise BadRequestError(
            f"{error.filename} is read-only.", "Save under another name."
        ) from None
    except OSError as error:
        raise BadRequestError(
            f"{path} cannot be written: {error.strerror or error}.", "Choose another folder."
        ) from None


def write_file(path: Path, content: str | bytes) -> None:
    """Replace a file of the user, see :func:`replace_file`.

    :param content: a text is encoded as UTF-8, with the ends of lines that it has.
    :raises BadRequestError: when the file cannot be written, or is marked read-only, or its folder is.
    """
    with replace_file(path) as new_file:
        new_file.write_bytes(content.encode() if isinstance(content, str) else content)


def write_internal_file(
    path: Path, content: bytes, *, mode: int | None = None, is_synced: bool = True
) -> None:
    """Replace a file that localcdap keeps for itself; the caller says what an error means.

    :param mode: see :class:`FileReplacement`.
    :param is_synced: see :class:`FileReplacement`.
    :raises OSError: when the file cannot be written.
    """
    with FileReplacement(path, mode=mode, is_synced=is_synced) as replacement:
        replacement.new_file.write_bytes(content)


def _name_file(place: Path, name: Path) -> None:
    """Give a file without a name one: ``place`` is a link to it (``linkat`` with ``AT_SYMLINK_FOLLOW``).

    Python follows the link only where a descriptor of a folder is given.
    """
    folder = os.open(name.parent, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.link(place, name.name, src_dir_fd=folder, dst_dir_fd=folder)
    finally:
        os.close(folder)


def sync_to_disk(path: Path) -> None:
    """Wait until the content of a file, or the names in a folder, are on the disk (``fsync``).

    :raises OSError: when the path cannot be opened or written.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _sync_folder(folder: Path) -> None:
    try:
        sync_to_disk(folder)
    except OSError as error:
        if error.errno not in _CANNOT_SYNC:
            raise


def _find_status(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except FileNotFoundError:
        return None


def _require_writable(file: Path) -> None:
    for path, name in ((file, "it"), (file.parent, "its folder")):
        status = _find_status(path)
        if status is not None and not status.st_mode & 0o222:
            raise ReadOnlyFileError(errno.EACCES, f"{name} is read-only", str(path))
