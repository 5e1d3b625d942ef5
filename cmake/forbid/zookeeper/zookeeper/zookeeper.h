// Found instead of the header of this name.
#error "Only lib/zk/handle.cpp may include ZooKeeper's header."
