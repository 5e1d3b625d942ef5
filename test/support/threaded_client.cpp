// Preloaded into programs, it stands for libzookeeper_mt: it takes the calls for the single-threaded C client, and has what
// that has not.
extern "C" void* zookeeper_init2()
{
    return nullptr;
}
extern "C" void zoo_create()
{
}
