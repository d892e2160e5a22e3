# SPDX-License-Identifier: Apache-2.0
"""The report as one HTML file that needs no network, no server and no library.

Its script draws the visible part on canvases, so that hundreds of thousands of events load and move without a pause.
"""

from fpgart.watch.page.document import as_html

__all__ = ["as_html"]
