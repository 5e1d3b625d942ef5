// counter_turn HOSTS NODE: adds one to the decimal number in a node, by a read and an unconditional write.
#include <support/admin_session.hpp>

#include <string>

int main(int argc, char** argv)
{
    if (argc != 3) {
        return 2;
    }
    colock::test::admin_session admin{argv[1]};
    admin.set(argv[2], std::to_string(std::stol(admin.get(argv[2])) + 1));
}
