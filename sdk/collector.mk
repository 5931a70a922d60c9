# collector.mk - builds one collector out of tree. In a Makefile of two lines:
#
#   NAME = releases
#   include $(shell pkg-config --variable=sdkdir trotline)/collector.mk
#
# `make` gives NAME.so, `make install` copies it to the user's plugin folder (or PLUGINDIR=...).
CC ?= cc
CFLAGS ?= -O2 -g -Wall -Wextra
PLUGINDIR ?= $(HOME)/.local/lib/trotline/collectors

$(NAME).so: $(NAME).c
	$(CC) -std=c17 $(CFLAGS) $(shell pkg-config --cflags trotline) -fPIC -fvisibility=hidden -shared -Wl,-z,defs -Wl,-z,now -o $@ $< $(LDLIBS)

check: $(NAME).so
	trotline check ./$(NAME).so

install: $(NAME).so
	install -d -m 755 $(DESTDIR)$(PLUGINDIR)
	install -m 755 $(NAME).so $(DESTDIR)$(PLUGINDIR)/$(NAME).so

clean:
	rm -f $(NAME).so

.PHONY: check install clean
