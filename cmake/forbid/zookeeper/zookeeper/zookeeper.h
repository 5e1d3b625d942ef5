// Found instead of the header of this name.
#error "Only lib/zk/c_client.cpp may include ZooKeeper's header."
