"""The wheel holds what stands beside `lib/` in a checkout: the console's app and pages, its theme, the documents."""

import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py


class WithConsole(build_py):
    """Builds the package with the console's files in `offsetwise/beside/`; see `offsetwise.bundled.beside`."""

    def run(self) -> None:
        """Build, and copy them; an editable install finds them where they are."""
        super().run()
        if self.editable_mode:
            return
        beside = Path(self.build_lib, "offsetwise", "beside")
        shutil.rmtree(beside, ignore_errors=True)
        beside.mkdir(parents=True)
        shutil.copy("app.py", beside)
        for folder in (".streamlit", "pages", "docs"):
            shutil.copytree(folder, beside / folder, ignore=shutil.ignore_patterns("__pycache__", "*.png"))


setup(cmdclass={"build_py": WithConsole})
