// SPDX-License-Identifier: MIT OR Apache-2.0
// Makes a document, and parses, walks and prints it some times.
#include <cstdio>
#include <cstdlib>
#include <string>

#include "tinyxml2.h"

static long walk(const tinyxml2::XMLElement *element)
{
	long sum = element->IntAttribute("value");
	for (auto child = element->FirstChildElement(); child; child = child->NextSiblingElement())
		sum += walk(child);
	return sum;
}

int main(int argc, char **argv)
{
	const int times = argc > 1 ? std::atoi(argv[1]) : 1;
	std::string text = "<all>";
	for (int i = 0; i < 2000; i++)
		text += "<item value=\"" + std::to_string(i) + "\"><name>n" + std::to_string(i * 7) +
			"</name><part value='3'/><!-- c --><text>a &lt; b &amp; c</text></item>";
	text += "</all>";
	long sum = 0;
	for (int i = 0; i < times; i++) {
		tinyxml2::XMLDocument document;
		if (document.Parse(text.c_str()) != tinyxml2::XML_SUCCESS)
			return 1;
		tinyxml2::XMLPrinter printer;
		document.Print(&printer);
		sum += walk(document.RootElement()) + printer.CStrSize();
	}
	std::printf("%ld\n", sum);
	return 0;
}
