// Found instead of the header of this name.
#error "Public headers include the few headers of Asio that they need, not all of them."
