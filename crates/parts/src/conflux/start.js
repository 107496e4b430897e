// Runs a Conflux node in this process. Arguments: the packages' directory, a file of settings.
//
// Not by the package's own createServer: it gives up after 20 s, which a busy machine exceeds, and
// it loads a whole client library only to ask whether the node is ready. The test asks itself.
"use strict";
const { readFileSync } = require("node:fs");
const { join } = require("node:path");

const [packages, file] = process.argv.slice(2);
const home = join(packages, "node_modules", "@xcfx", "node");
const { ConfluxNode } = require(join(home, "conflux.js"));
const pos = join(home, "configs", "pos_config");

const settings = {
  posConfigPath: join(pos, "pos_config.yaml"),
  posInitialNodesPath: join(pos, "initial_nodes.json"),
  ...JSON.parse(readFileSync(file, "utf8")),
};

const node = new ConfluxNode();
node.startNode(settings, (error) => {
  if (error) {
    console.error(error);
    process.exit(1);
  }
});

// The node runs in threads that Node.js does not wait for: without this the process would end.
// It also keeps `node` from the garbage collector.
setInterval(() => node, 1 << 30);
