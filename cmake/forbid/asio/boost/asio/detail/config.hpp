// Found instead of the header of this name, which every header of Asio includes first.
#error "What decides is sans-io: neither it nor its unit tests may reach Boost.Asio."
