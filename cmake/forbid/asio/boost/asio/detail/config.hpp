// Found instead of the header of this name, which every header of Asio includes first.
#error "lib/protocol is sans-io: neither it nor its unit tests may reach Boost.Asio."
