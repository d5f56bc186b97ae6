// build.mjs writes here what ties the plugin to its world: the module from which everything is found.
