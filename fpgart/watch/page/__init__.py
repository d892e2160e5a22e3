# SPDX-License-Identifier: Apache-2.0
"""The report as one HTML file that needs nothing else: no network, no server, no library.

Its script draws on canvases what is in view, so that hundreds of thousands of events load and move without a pause.
"""

from fpgart.watch.page.document import as_html

__all__ = ["as_html"]
